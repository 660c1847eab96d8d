import type { DeclaredSecretResolver } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { Link } from './link.ts'
import { geminiLink, localLink, type ModelServices, openRouterLink } from './models.ts'
import { pollinationsLink } from './pollinations.ts'
import { storedKey } from './pollinations-key.ts'

/** Services that write texts. */
export interface LinkServices extends ModelServices {
  readonly secrets: () => DeclaredSecretResolver | undefined
}

/** Returns a function that returns the links of the setting `teaching`, in the order in which they are tried. */
export function linksOf(settings: () => Settings, services: LinkServices): () => readonly Link[] {
  const onlyLocal = [localLink(services, true)]
  const chain = [
    localLink(services, false),
    pollinationsLink(() => {
      const { pollinations_url, pollinations_api_key } = settings()
      const key = async (signal: AbortSignal) => pollinations_api_key ?? (await storedKey(services.secrets(), signal))
      return { url: pollinations_url, key }
    }),
    geminiLink(services),
    openRouterLink(services)
  ]
  return () => {
    const { teaching } = settings()
    return teaching === 'chain' ? chain : teaching === 'local' ? onlyLocal : []
  }
}
