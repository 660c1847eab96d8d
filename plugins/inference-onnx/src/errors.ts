import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the inference engine. */
export const inferenceErrors = errorTable({
  INF_ADAPTER_EXISTS: { message: 'The model already has an adapter with that name.', status: 409 },
  INF_ADAPTER_INVALID: { message: "The adapter's file or metadata is inconsistent, or does not fit the model." },
  INF_ADAPTER_UNKNOWN: { message: 'The model has no adapter with that name.', status: 404 },
  INF_ARCHITECTURE_UNSUPPORTED: { message: 'The engine cannot build a model of this family or with this setting.' },
  INF_BUSY: { message: 'Every slot of the model is in use and the queue is full.', status: 503 },
  INF_CHAT_TEMPLATE_FAILED: { message: "The model's chat template could not render the conversation.", status: 400 },
  INF_CONSTRAINT_IMPASSE: {
    message: 'No token of the model satisfies the constraint.',
    status: 400
  },
  INF_CONSTRAINT_UNSUPPORTED: {
    message: 'The constraint on the answer uses a feature that the engine cannot enforce.',
    status: 400
  },
  INF_CONTEXT_EXCEEDED: { message: 'The prompt does not fit into the context of the model.', status: 400 },
  INF_DEVICE_UNAVAILABLE: { message: 'The requested device is not available.', status: 400 },
  INF_EXPERIMENTAL_OPTIMIZER: {
    message: 'The adapter was trained with an experimental optimizer, which is not allowed.',
    status: 409
  },
  INF_GPU_ABSENT: { message: 'The machine has no NVIDIA GPU that could use the CUDA provider.', status: 409 },
  INF_LOAD_CANCELLED: { message: 'The caller cancelled the load of a model or an adapter.', status: 499 },
  INF_MERGE_EXISTS: { message: 'The file of the merged weights exists.', status: 409 },
  INF_MERGE_UNWRITABLE: { message: 'The merged weights or their handoff could not be written.' },
  INF_MODEL_CLOSED: { message: 'The model was closed.', status: 503 },
  INF_NOT_FINITE: { message: 'The model computed a value that is not a finite number.' },
  INF_OPTION_INVALID: { message: 'An option of a load or a generation is out of its range.', status: 400 },
  INF_OUT_OF_MEMORY: { message: 'The memory for a model or its context could not be allocated.' },
  INF_PROVIDER_DOWNLOAD_FAILED: { message: "ONNX Runtime's CUDA provider could not be downloaded.", status: 502 },
  INF_PROVIDER_INVALID: { message: 'The archive contains no usable CUDA provider.', status: 400 },
  INF_RUN_DIR_FILE_MISSING: { message: 'A required file of the run directory is missing.' },
  INF_RUN_DIR_HANDOFF_INVALID: { message: 'The external serving handoff does not match its schema.' },
  INF_RUN_DIR_MALFORMED: { message: 'A file of the run directory violates its format.' },
  INF_RUN_DIR_NOT_FOUND: { message: 'The run directory does not exist or is not a directory.', status: 404 },
  INF_RUN_DIR_PATH_UNSAFE: { message: 'A file of the run directory names a path outside the directory.' },
  INF_RUN_DIR_TENSOR_INVALID: {
    message: 'A tensor that the model needs has a wrong shape or element type, or holds NaN or infinity.'
  },
  INF_RUN_DIR_TENSOR_MISSING: { message: 'A required tensor is missing from the weight files.' },
  INF_RUN_DIR_TRUNCATED: { message: 'A file of the run directory is shorter than its header states.' },
  INF_RUN_DIR_UNREADABLE: { message: 'A file of the run directory could not be read.' },
  INF_RUNTIME_FAILED: { message: 'ONNX Runtime reported an error.' },
  INF_RUNTIME_UNAVAILABLE: { message: 'ONNX Runtime could not be loaded.' },
  INF_TOKENIZER_UNSUPPORTED: { message: 'The tokenizer uses an unsupported decoder.' }
})
