import { type AdapterProblem, RemoteFailure, type ScholarlyAdapter } from '@svc/contracts'
import { closest } from '@svc/plugin-sdk'
import { scholarlyErrors } from './errors.ts'
import type { Settings } from './settings.ts'

/** Returns a problem and what to do about it, as sentences. */
export function problemText({ message, hint }: Pick<AdapterProblem, 'message' | 'hint'>): string {
  if (hint === '') return message
  return `${message.replace(/[.;:\s]+$/, '')}. ${hint}`
}

/** Archives by name and alias. */
export class AdapterChoice {
  readonly #items: () => readonly ScholarlyAdapter[]
  readonly #settings: () => Settings

  constructor(items: () => readonly ScholarlyAdapter[], settings: () => Settings) {
    this.#items = items
    this.#settings = settings
  }

  get all(): readonly ScholarlyAdapter[] {
    return this.#items()
  }

  /** Returns the archive of a name or alias; without one, that of the settings. Throws `SCH_ADAPTER_UNKNOWN`. */
  find(name: string = this.#settings().adapter): ScholarlyAdapter {
    const wanted = name.trim().toLowerCase()
    const found = this.#items().find(each => each.name === wanted || each.aliases?.includes(wanted))
    if (found !== undefined) return found
    const names = this.#items().map(each => each.name)
    const near = closest(wanted, [...names, ...this.#items().flatMap(({ aliases = [] }) => aliases)])
    throw scholarlyErrors.create('SCH_ADAPTER_UNKNOWN', `archive ${name}: no archive has that name`, {
      hint:
        near === undefined
          ? `choose one of ${names.join(', ')}`
          : `did you mean ${near}? svc scholarly adapters lists all`,
      data: { error_class: 'config', adapters: names }
    })
  }

  /** Returns the setting that disables an archive, or null. */
  disabledBy({ name, aliases = [], live }: ScholarlyAdapter): string | null {
    const settings = this.#settings()
    if (settings.disable) return 'disable'
    if (settings.disable_live && live) return 'disable_live'
    const own = `disable_${name}`
    if ((settings as Readonly<Record<string, unknown>>)[own] === true) return own
    return settings.disabled.some(each => [name, ...aliases].includes(each.trim().toLowerCase())) ? 'disabled' : null
  }

  /** Throws `RemoteFailure` with class `disabled` for a disabled archive. */
  checkEnabled(adapter: ScholarlyAdapter): void {
    const setting = this.disabledBy(adapter)
    if (setting !== null)
      throw new RemoteFailure(
        `${adapter.name}: disabled by the setting plugins.scholarly.${setting}; change it to continue`,
        {
          failureClass: 'disabled',
          code: 'disabled'
        }
      )
  }
}
