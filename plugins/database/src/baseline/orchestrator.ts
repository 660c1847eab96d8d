import { ORCHESTRATOR_TABLES as tables } from '@svc/contracts'

/** The state of orchestrators: the holder of each seat, and its records. */
export const orchestratorTables = `
${tables.orchestrator_records};
${tables.orchestrator_seats};
${tables.orchestrator_counters};
`
