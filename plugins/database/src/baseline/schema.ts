import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { contextTables } from './context.ts'
import { conversationTables } from './conversations.ts'
import { coordinationTables } from './coordination.ts'
import { journeyTables } from './journeys.ts'
import { fullTextTables, knowledgeTables } from './knowledge.ts'
import { metricTables } from './metrics.ts'
import { orchestratorTables } from './orchestrator.ts'
import { publicationTables } from './publication.ts'
import { workflowTables } from './workflows.ts'

/** Version of the schema that this svc creates. There are no migrations between schema versions. */
export const BASELINE_VERSION = 1

const versionTables = `
CREATE TABLE IF NOT EXISTS schema_version (
  version INTEGER PRIMARY KEY,
  applied_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS schema_manifest (
  version INTEGER PRIMARY KEY REFERENCES schema_version (version),
  digest TEXT NOT NULL
);
`

/** Schema fragments in creation order. */
const FRAGMENTS: readonly string[] = [
  versionTables,
  journeyTables,
  conversationTables,
  metricTables,
  workflowTables,
  publicationTables,
  coordinationTables,
  orchestratorTables,
  contextTables,
  knowledgeTables
]

/** Returns all CREATE statements; those of full-text tables only if the engine supports them. */
export function baselineScript(fullText: boolean): string {
  return [...FRAGMENTS, ...(fullText ? [fullTextTables] : [])].join('')
}

/** Names of the tables that exist with every engine. */
export const BASELINE_TABLES: readonly string[] = [
  ...FRAGMENTS.join('').matchAll(/^CREATE TABLE IF NOT EXISTS (\w+)/gm)
].map(([, name]) => name as string)

let digest: string | undefined

/** Returns the Keccak-256 digest of all fragments in order: the same for all databases of one svc version. */
export function baselineDigest(): string {
  digest ??= `0x${bytesToHex(keccak_256(utf8ToBytes([...FRAGMENTS, fullTextTables].join(''))))}`
  return digest
}
