/** What a program may be granted beyond calculating. */
export type Capability = 'fs' | 'process' | 'env' | 'net' | 'secrets'

export const CAPABILITIES: readonly Capability[] = ['fs', 'process', 'env', 'net', 'secrets']

/** The world, as a program meets it. Every call returns before the program goes on. */
export interface Host {
  /** A line of output, without its end. */
  print(line: string): void
  log(level: 'debug' | 'info' | 'warn' | 'error', text: string): void
  /** Milliseconds since 1970. */
  now(): number
  /** At least 0, below 1. */
  random(): number
  /** Arguments behind the name of the file. */
  readonly args: readonly string[]
  readonly capabilities: ReadonlySet<Capability>
  /** Milliseconds. */
  sleep(duration: number): void
}
