import { createHash } from 'node:crypto'
import { fences } from './fences.ts'
import { itemListings } from './item-listings.ts'
import { items } from './items.ts'
import { leases } from './leases.ts'
import { sharedState } from './shared-state.ts'
import { tables } from './tables.ts'
import { workflows } from './workflows.ts'

const statements = [tables, fences, items, itemListings, leases, sharedState, workflows].join('\n')

/** Identifies the text of all tables and functions. The table `versions` lists the texts that were installed. */
export const schemaDigest = createHash('sha256').update(statements).digest('hex').slice(0, 32)

/** Number of the advisory lock that lets one process at a time install. */
const INSTALL_LOCK = 0x737663636f6f7264n

/**
 * Begins the transaction of an installation, which waits for that of another process. Its time limits are those of large
 * tables and of a busy server.
 */
export const beginInstallation = `
begin;
set local lock_timeout = '30s';
set local statement_timeout = '60s';
select pg_advisory_xact_lock(${INSTALL_LOCK});
`

/** Statements that create the schemas `svc_coord` and `svc_workflow`, and end the transaction. Repeatable. */
export const finishInstallation = `
${statements}
insert into svc_coord.versions (digest) values ('${schemaDigest}') on conflict do nothing;
commit;
`
