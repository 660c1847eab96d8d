import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the model registry. Errors of requests to models are in `inferenceErrors`. */
export const providerErrors = errorTable({
  PRV_CATALOG_INVALID: { message: 'The model list of a provider is not readable.', status: 502 },
  PRV_CATALOG_UNREACHABLE: { message: 'The model list of a provider could not be loaded.', status: 503 },
  PRV_MODEL_REFUSED: { message: 'A model cannot be selected.', status: 409 },
  PRV_MODEL_UNKNOWN: { message: 'The registry has no model of that name.', status: 404 },
  PRV_MODELS_FILE_INVALID: { message: 'The file with models cannot be read.', status: 422 },
  PRV_NO_DATABASE: { message: 'The database for usage and selections is disabled.', status: 503 }
})
