import { runErrors } from '../errors.ts'

/** Reason for disconnecting a client that does not read. */
export function slowClient(): Error {
  return runErrors.create('RUN_LIVE_SLOW', 'the client reads more slowly than changes arrive', {
    hint: 'reconnect with the number of the last change that was read'
  })
}
