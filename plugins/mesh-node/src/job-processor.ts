import type { AgentFleet, Orchestrator, RemoteProcessor } from '@svc/contracts'
import { orchestratorProcessor } from './orchestrator-processor.ts'
import type { Settings } from './settings.ts'

export interface ProcessorSources {
  readonly mode: Settings['processor']
  /** Processor of another plugin. */
  readonly provided: () => RemoteProcessor | undefined
  readonly fleet: () => Pick<AgentFleet, 'running'> | undefined
  readonly orchestrator: Orchestrator
}

/** Completes each task without work. */
const echo: RemoteProcessor = {
  name: 'echo',
  run: async ({ key }) => ({ result: `echo: the node accepted ${key} and did no work` })
}

/** Returns a function that chooses the processor of remote work; null while nothing is accepted. */
export function chooseProcessor({
  mode,
  provided,
  fleet,
  orchestrator
}: ProcessorSources): () => RemoteProcessor | null {
  const ofFleet = orchestratorProcessor(orchestrator)
  return () => {
    if (mode === 'off') return null
    if (mode === 'echo') return echo
    return provided() ?? (fleet()?.running === true ? ofFleet : null)
  }
}
