import { service } from '@svc/plugin-sdk'

/** Agents of this process that work on tasks. */
export const agentFleet = service<AgentFleet>('orchestrator.fleet@1')

export interface AgentFleet {
  /** Whether it accepts tasks now. */
  readonly running: boolean
  /** Agents that it works for. */
  readonly workers: number
  /** Names of the processors, in order of preference. */
  readonly processors: readonly string[]
  /** Starts to work on tasks, if the settings have a fleet; no effect while it runs. For a long-running surface. */
  start(): void
}
