import { ORCHESTRATOR_TABLES as tables } from '@svc/contracts'

/** State of orchestrators: seats with their owners, and the records of each seat. */
export const orchestratorTables = `
${tables.orchestrator_records};
${tables.orchestrator_seats};
${tables.orchestrator_counters};
`
