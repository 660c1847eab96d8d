import { createHash } from 'node:crypto'
import { fences } from './fences.ts'
import { items } from './items.ts'
import { leases } from './leases.ts'
import { sharedState } from './shared-state.ts'
import { tables } from './tables.ts'
import { workflows } from './workflows.ts'

const statements = [tables, fences, items, leases, sharedState, workflows].join('\n')

/** Identifies the text of all tables and functions. The table `versions` lists the texts that were installed. */
export const schemaDigest = createHash('sha256').update(statements).digest('hex').slice(0, 32)

/** Number of the advisory lock that lets one process at a time install. */
const INSTALL_LOCK = 0x737663636f6f7264n

/**
 * Statements that create the schemas `svc_coord` and `svc_workflow`, in one transaction. Repeatable, also by several processes at once: they
 * wait for each other.
 */
export const installStatements = `
begin;
set local lock_timeout = '30s';
set local statement_timeout = '60s';
select pg_advisory_xact_lock(${INSTALL_LOCK});
${statements}
insert into svc_coord.versions (digest) values ('${schemaDigest}') on conflict do nothing;
commit;
`
