import { service } from '@svc/plugin-sdk'

/** Live log of the process. Not provided while a single command runs. */
export const logLines = service<LogLines>('kernel.log@1')

export interface LogLines {
  /**
   * Calls the listener for each line, a JSON string without secrets. The first listener also receives the lines since
   * the start. Returns the unsubscribe function.
   */
  subscribe(listener: (line: string) => void): () => void
}
