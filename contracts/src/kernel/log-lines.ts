import { service } from '@svc/plugin-sdk'

/** Live log of the process. Absent in a single command. */
export const logLines = service<LogLines>('kernel.log@1')

export interface LogLines {
  /**
   * Calls the listener for each line, a JSON text without secrets. The first listener gets the lines since the start.
   * Returns a function that ends it.
   */
  subscribe(listener: (line: string) => void): () => void
}
