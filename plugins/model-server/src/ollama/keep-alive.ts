import { invalid } from '../body-reader.ts'
import { durationMs } from '../duration.ts'

const FIELD = 'keep_alive'

/**
 * Returns the milliseconds that the model stays loaded after the request. The field is a number of seconds, or a
 * duration such as `5m`. 0 unloads the model immediately; a negative value keeps it loaded. Returns undefined if the field is
 * absent.
 *
 * Throws `MSV_REQUEST_INVALID`.
 */
export function keepAliveMs(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return value < 0 ? Number.POSITIVE_INFINITY : value * 1000
  const milliseconds = typeof value === 'string' ? durationMs(value) : undefined
  if (milliseconds !== undefined) return milliseconds
  throw invalid(`'${FIELD}' must be a number of seconds or a duration such as '5m'`, FIELD)
}
