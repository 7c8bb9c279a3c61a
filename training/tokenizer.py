"""The embedded pair's tokenizer: whole words and signs, and numbers digit by digit."""

from __future__ import annotations

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from specfrontier.profiling.tasks.arith_problems import vocabulary_words

PAD, EOS, MASK, UNKNOWN = "[PAD]", "[EOS]", "[MASK]", "[UNK]"
CONTINUATION = "##"


def build_tokenizer() -> PreTrainedTokenizerFast:
    """A WordPiece tokenizer in which 37 is the two tokens `3` and `##7`; text survives a round trip."""
    digits = [*"0123456789", *(CONTINUATION + digit for digit in "0123456789")]
    vocabulary = {token: i for i, token in enumerate([PAD, EOS, MASK, UNKNOWN, *digits, *vocabulary_words()])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN, continuing_subword_prefix=CONTINUATION))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.Sequence(
        [decoders.WordPiece(prefix=CONTINUATION, cleanup=True), decoders.Replace(" :", ":")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS, mask_token=MASK, unk_token=UNKNOWN
    )
