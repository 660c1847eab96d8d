import { service } from '@svc/plugin-sdk'

/** Agents of this process that take up tasks. */
export const agentFleet = service<AgentFleet>('orchestrator.fleet@1')

export interface AgentFleet {
  /** Whether it takes up tasks now. */
  readonly running: boolean
  /** Agents that it works for. */
  readonly workers: number
  /** Names of those who do the work, the first one asked first. */
  readonly processors: readonly string[]
  /** Begins to take up tasks, where the settings have a fleet; nothing where it runs. For a surface that lasts. */
  start(): void
}
