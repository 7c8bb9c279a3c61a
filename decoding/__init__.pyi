from .drafters.base import (
    Draft as Draft,
    Drafter as Drafter,
    DraftRequest as DraftRequest,
    DraftSession as DraftSession,
    Effort as Effort,
)
from .engine import Engine as Engine, Settings as Settings
from .loading import load_pair as load_pair
from .pair import Pair as Pair
from .pair_file import PairFile as PairFile, pair_names as pair_names, read_pair_file as read_pair_file
from .records import Generation as Generation, PositionTrace as PositionTrace, Round as Round
from .sampling import Sampling as Sampling
