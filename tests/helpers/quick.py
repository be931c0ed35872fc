"""`pytest --quick`: a test or two of every package, for each save. Whatever else is named is not run.

Chosen so that a fault anywhere on the way of a value shows: an op planned, rendered, compiled, run, read and
differentiated; a step recorded and replayed; a model trained, saved and loaded.
"""

import pytest

from helpers.paths import TESTS

QUICK = {  # package: its tests, one to three
    "array_api": ["test_standard.py::test_fourier_transforms"],
    "autodiff": ["test_autodiff.py::test_grad_and_value_and_grad", "test_autodiff.py::test_hessians"],
    "capture": [
        "test_program.py::test_a_replay_runs_on_new_inputs_and_plans_nothing",
        "test_program.py::test_state_moves_on_at_every_replay",
        "test_jit.py::test_the_type_of_a_number_counts",
    ],
    "cli": ["test_cli.py::test_help_has_an_example_for_every_command", "test_cli.py::test_an_unknown_device"],
    "codegen": ["test_golden.py::test_wgsl_is_as_it_was", "test_bounds.py::test_views_stay_in_their_buffers"],
    "core": [
        "test_promotion.py::test_numbers_of_dtypes",
        "test_errors.py::test_devices_do_not_mix",
        "test_dtype.py::test_rounding_is_to_nearest_even",
    ],
    "data": [
        "test_data.py::test_tensor_dataset_gives_rows_and_batches",
        "test_data.py::test_loader_in_order",
    ],
    "device": ["test_device.py::test_names_mean_devices", "test_browserless.py"],
    "distributed": ["test_group.py::test_ranks_that_call_different_things_get_one_error"],
    "distributions": [
        "test_samples.py::test_draws_follow_the_cdf[Normal]",
        "test_transforms.py::test_volumes_are_slopes",
    ],
    "export": ["test_save.py::test_arrays_names_and_repeated_calls"],
    "fusion": [
        "test_planner.py::test_softmax_is_one_kernel",
        "test_inplace.py::test_the_last_reader_writes_over_what_dies",
        "test_buffers.py::test_no_two_values_share_a_slot_at_once",
    ],
    "hub": ["test_hub.py::test_a_file_comes_once"],
    "inspector": [
        "test_model.py::test_the_page_holds_all_of_it_and_nothing_of_it_is_html",
        "test_call.py::test_layers_lines_and_gradients",
    ],
    "io": ["test_safetensors.py::test_models_go_round"],
    "kernels": [
        "test_contract.py::test_enough_results_are_not_split",
        "test_window.py::test_each_pool_is_one_kernel",
    ],
    "legalize": ["test_rewrite.py::test_shifts"],
    "learner": [
        "test_learner.py::test_stop_ends_the_run_at_the_step",
        "test_checkpoints.py::test_a_damaged_checkpoint_gives_way_to_the_one_before",
        "test_state.py::test_a_run_that_is_done",
    ],
    "metrics": ["test_metric.py::test_updates_read_nothing"],
    "models": ["test_digits.py::test_the_rate_rises_in_a_fifth_of_the_steps_and_falls_to_nothing"],
    "named": ["test_named.py::test_broadcasting_is_by_name", "test_patterns.py::test_repeat"],
    "nn": ["test_nn.py::test_linear", "test_nn.py::test_state_goes_round"],
    "onnx": ["test_model.py::test_a_model_trains[cpu]", "test_proto.py::test_the_model_is_good"],
    "ops": [
        "test_ops.py::test_value[gpu-matmul]",
        "test_grad.py::test_gradient[_cumsum-gpu]",
        "test_getitem.py::test_a_mask_and_a_number_need_no_read",
    ],
    "optim": ["test_optim.py::test_formula[gpu-4]", "test_optim.py::test_mlp_learns"],
    "porting": ["test_convert.py::test_case", "test_convert.py::test_zero_and_gradients_are_gradients"],
    "profiling": ["test_profiling.py::test_kernels_have_times_bytes_and_operations"],
    "remote": ["test_websocket.py::test_messages_of_all_lengths", "test_remote.py::test_reads_are_awaited"],
    "rl": ["test_environments.py::test_kernels_compute_what_the_references_do[CartPole]"],
    "runtime": [
        "test_readback.py::test_data_is_the_values",
        "test_submits.py::test_every_submit_is_short",
        "test_exchange.py::test_arrays_go_out",
    ],
    "sanitizer": [
        "test_planted.py::test_in_custom_ops[no_barrier]",
        "test_planted.py::test_in_gradients[sigmoid]",
        "test_watch.py::test_turns_of_a_loop",
    ],
    "selftest": [
        "test_programs.py::test_bounds_of_exact_arithmetic_are_none",
        "test_selftest.py::test_an_unknown_family",
    ],
    "tokenizers": ["test_tokenizers.py::test_a_special_token_in_a_text_is_plain_text_unless_asked"],
    "torch_mode": ["test_gradients.py::test_backward_adds_to_grad"],
    "serve": ["test_tools.py::test_calls_in_each_form"],
    "site": ["test_docs_site.py::test_a_page_of_markdown"],
    "tabs": ["test_tabs.py::test_a_tab_that_closes_in_the_middle"],
    "tune": [
        "test_measure.py::test_whole_numbers_are_equal_or_not",
        "test_autotune.py::test_files_are_readable",
    ],
    "vision": [
        "test_transforms.py::test_crop_flip_affine_jitter_and_normalise_are_two_kernels",
        "test_transforms.py::test_crops_and_flips_move_pixels",
    ],
    "wgsl_reader": ["test_parser.py::test_bodies_are_parsed_when_they_are_asked_for"],
    ".": ["test_tiny.py", "test_house.py"],
}


def pytest_addoption(parser):
    parser.addoption(
        "--quick", action="store_true", help="run a test or two of every package, and nothing else"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if config.getoption("--quick"):  # to collect all files would take longer than these tests
        config.args[:] = [str(TESTS / name / test) for name, tests in QUICK.items() for test in tests]
