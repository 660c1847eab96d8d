import type { LogLines } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'

/** Secrets that must not appear in log lines. */
export interface KnownSecrets {
  add(secret: string): void
  /** Masks a secret from the input of an operation. Only the most recent such secrets are remembered. */
  addFromInput(secret: string): void
  mask(text: string): string
}

export interface KernelLogger extends Logger {
  /** Returns a logger whose lines carry the plugin's name. */
  forPlugin(name: string): Logger
  setLevel(level: string): void
  flush(): void
  readonly secrets: KnownSecrets
  /** Recent log lines. Absent for the log of a single command. */
  readonly lines?: LogLines
}
