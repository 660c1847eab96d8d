import { runErrors } from '../errors.ts'

/** Returns the error for a client that reads too slowly. */
export function slowClient(): Error {
  return runErrors.create('RUN_LIVE_SLOW', 'the client reads more slowly than changes arrive', {
    hint: 'reconnect with the id of the last change that was read'
  })
}
