import { ORCHESTRATOR_TABLES as tables } from '@svc/contracts'

/** The state of orchestrators: who has which seat, and the records of each. */
export const orchestratorTables = `
${tables.orchestrator_records};
${tables.orchestrator_seats};
${tables.orchestrator_counters};
`
