"""What serving engines report about acceptance, read into one checked form (``report.AcceptanceReport``)."""

from specfrontier.simulate.importers.aiperf import from_aiperf_export, from_aiperf_records
from specfrontier.simulate.importers.deepspec import from_deepspec_table
from specfrontier.simulate.importers.llama_cpp import from_llama_cpp_responses
from specfrontier.simulate.importers.report import AcceptanceReport
from specfrontier.simulate.importers.sglang import from_sglang_responses
from specfrontier.simulate.importers.tensorrt_llm import from_tensorrt_llm_stats
from specfrontier.simulate.importers.vllm import from_vllm_counters, from_vllm_responses

__all__ = [
    "AcceptanceReport",
    "from_aiperf_export",
    "from_aiperf_records",
    "from_deepspec_table",
    "from_llama_cpp_responses",
    "from_sglang_responses",
    "from_tensorrt_llm_stats",
    "from_vllm_counters",
    "from_vllm_responses",
]
