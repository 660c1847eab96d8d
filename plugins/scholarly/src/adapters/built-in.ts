import type { DeclaredSecret, ScholarlyAdapter } from '@svc/contracts'
import { echoLedger, localLedger } from './ledgers.ts'
import type { AdapterParts } from './parts.ts'

/** Returns the archives of this plugin. They are contributed like those of other plugins. */
export function builtInAdapters(_parts: AdapterParts): readonly ScholarlyAdapter[] {
  return [localLedger, echoLedger]
}

/** Credentials of the built-in archives. */
export const ADAPTER_SECRETS: readonly DeclaredSecret[] = []
