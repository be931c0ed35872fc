"""An LSTM sequence tagger (Hochreiter and Schmidhuber, 1997), under the names of PyTorch's tutorial."""

from .. import nn
from ..tensor import Tensor


class LSTMTagger(nn.Module):
    """Scores of each tag for each word. ids [b, n] -> [b, n, tagset_size]

    embedding_dim, hidden_dim: features of a word, and of the LSTM in each direction. vocab_size: the number
    of words. tagset_size: the number of tags. bidirectional: read backwards as well (Graves and Schmidhuber,
    2005).
    num_layers: the number of stacked LSTMs.
    """

    def __init__(
        self,
        embedding_dim: int,
        hidden_dim: int,
        vocab_size: int,
        tagset_size: int,
        bidirectional: bool = False,
        num_layers: int = 1,
    ):
        self.word_embeddings = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(
            embedding_dim, hidden_dim, num_layers, batch_first=True, bidirectional=bidirectional
        )
        self.hidden2tag = nn.Linear(hidden_dim * (1 + bidirectional), tagset_size)

    def forward(self, ids: Tensor) -> Tensor:
        return self.hidden2tag(self.lstm(self.word_embeddings(ids))[0])
