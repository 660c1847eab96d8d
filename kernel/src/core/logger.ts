import type { LogLines } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { MaskedSecrets } from './masked-secrets.ts'

export interface KernelLogger extends Logger {
  /** Returns a logger whose lines carry the plugin's name. */
  forPlugin(name: string): Logger
  setLevel(level: string): void
  flush(): void
  /** Secrets that must not appear in a line. */
  readonly secrets: MaskedSecrets
  /** The written lines. Absent for the log of a single command. */
  readonly lines?: LogLines
}
