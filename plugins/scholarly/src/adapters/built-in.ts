import type { DeclaredSecret, ScholarlyAdapter } from '@svc/contracts'
import { arxivAssist } from './arxiv/adapter.ts'
import { CROSSREF_SECRETS, crossrefDeposit } from './crossref/adapter.ts'
import { echoLedger, localLedger } from './ledgers.ts'
import { openReview } from './openreview/adapter.ts'
import { OSF_SECRETS, osfAdapter } from './osf/osf-adapter.ts'
import type { AdapterParts } from './parts.ts'
import { ZENODO_SECRETS, zenodoAdapter } from './zenodo/zenodo-adapter.ts'

/** Returns the archives of this plugin. They are contributed like those of other plugins. */
export function builtInAdapters(parts: AdapterParts): readonly ScholarlyAdapter[] {
  return [
    localLedger,
    echoLedger,
    zenodoAdapter(parts),
    osfAdapter(parts),
    openReview(parts),
    arxivAssist(parts),
    crossrefDeposit(parts)
  ]
}

/** Credentials of the built-in archives. */
export const ADAPTER_SECRETS: readonly DeclaredSecret[] = [...ZENODO_SECRETS, ...OSF_SECRETS, ...CROSSREF_SECRETS]
