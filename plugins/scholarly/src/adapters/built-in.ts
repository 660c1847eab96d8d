import type { DeclaredSecret, ScholarlyAdapter } from '@svc/contracts'
import { CROSSREF_SECRETS, crossrefDeposit } from './crossref/adapter.ts'
import { echoLedger, localLedger } from './ledgers.ts'
import type { AdapterParts } from './parts.ts'

/** Returns the archives of this plugin. They are contributed like those of other plugins. */
export function builtInAdapters(parts: AdapterParts): readonly ScholarlyAdapter[] {
  return [localLedger, echoLedger, crossrefDeposit(parts)]
}

/** Credentials of the built-in archives. */
export const ADAPTER_SECRETS: readonly DeclaredSecret[] = [...CROSSREF_SECRETS]
