/** Error codes of the inference client, which the plugin for hosted providers shares. */
export { inferenceErrors as clientErrors } from '@svc/contracts'
