import { invalid } from '../body-reader.ts'
import { unsupported } from '../unsupported-fields.ts'

const FIELD = 'keep_alive'
const DURATION = /^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h))*$/

/**
 * Checks how long the model is to stay loaded: seconds, or a duration such as `5m`. It stays as long as the server runs,
 * which grants every duration but none: a request to unload it is refused, since one server serves one model.
 *
 * Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`.
 */
export function checkKeepAlive(value: unknown): void {
  if (value === undefined || value === null) return
  if (typeof value !== 'number' && !(typeof value === 'string' && (DURATION.test(value) || /^[+-]?\d+$/.test(value)))) {
    throw invalid(`'${FIELD}' must be a number of seconds or a duration such as '5m'`, FIELD)
  }
  if (!/[1-9]/.test(String(value))) {
    throw unsupported(
      FIELD,
      'this server keeps its one model for as long as it runs; to free its memory, stop the server'
    )
  }
}
