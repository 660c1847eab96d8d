import { inferenceErrors } from '@svc/contracts'
import { HOSTED, HOSTED_NAMES, type HostedName, type ProviderName } from './provider-list.ts'
import type { ModelEntry } from './registry/entry.ts'
import type { Settings } from './settings.ts'
import type { StoredKeys } from './stored-keys.ts'

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Keys and addresses of hosted providers. */
export class ProviderAccess {
  readonly #settings: Settings
  readonly #stored: StoredKeys

  /** `stored`: keys of providers that the settings name none for. */
  constructor(settings: Settings, stored: StoredKeys) {
    this.#settings = settings
    this.#stored = stored
  }

  key(name: HostedName): string | undefined {
    return this.#settings[`${name}_api_key`] ?? this.#stored.get(name)
  }

  /** A custom provider may need no key, if its address is configured. */
  hasKey(name: HostedName): boolean {
    return this.key(name) !== undefined || (name === 'custom' && this.#settings.custom_url !== undefined)
  }

  isAllowed(name: ProviderName): boolean {
    return isAllowed(this.#settings, name)
  }

  /** True if the settings, or the provider itself, determine an address. */
  hasAddress(name: HostedName): boolean {
    return HOSTED[name].url !== null || this.#settings[`${name}_url`] !== undefined
  }

  /** Providers that may receive requests. */
  usable(): HostedName[] {
    return HOSTED_NAMES.filter(name => this.hasKey(name) && this.isAllowed(name))
  }

  /**
   * Returns the URL for a model. Throws `ICL_ADDRESS_INVALID` for an address that would send a key without encryption to
   * another machine.
   */
  url({ provider, url: own }: Pick<ModelEntry, 'url'> & { readonly provider: HostedName }): string {
    const path = own === null ? `plugins.providers.${provider}_url` : 'url in models.toml'
    const text = own ?? this.#settings[`${provider}_url`] ?? HOSTED[provider].url ?? ''
    const url = URL.canParse(text) ? new URL(text) : null
    if (url === null) throw invalid(path, 'is no URL', 'write it as https://HOST/PATH')
    if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
      throw invalid(path, `would send prompts and keys to ${url.host} without encryption`, 'use https')
    }
    return provider === 'custom' ? chatUrl(url) : url.href
  }
}

/** True if the settings let a provider receive requests. */
export function isAllowed({ allowed }: Pick<Settings, 'allowed'>, name: ProviderName): boolean {
  return allowed.length === 0 || allowed.includes(name)
}

const CHAT_PATH = '/v1/chat/completions'

/** Appends the path of the chat to a base URL, unless it ends with that path. */
function chatUrl(url: URL): string {
  const base = url.pathname.replace(/\/+$/, '')
  if (base.endsWith('/chat/completions')) return url.href
  url.pathname = base.endsWith('/v1') ? `${base}/chat/completions` : `${base}${CHAT_PATH}`
  return url.href
}

function invalid(path: string, problem: string, hint: string): Error {
  return inferenceErrors.create('ICL_ADDRESS_INVALID', `${path} ${problem}`, { at: { path }, hint })
}
