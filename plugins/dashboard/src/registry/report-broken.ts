import type { Finding, KernelAdmin } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { BrokenEntry } from './entries.ts'

/** Reports broken contributions: in the log once, and to `svc plugins why` while they exist. */
export class BrokenReports {
  readonly #reporter = Symbol('dashboard')
  readonly #admin: Pick<KernelAdmin, 'report'> | undefined
  readonly #log: Pick<Logger, 'warn'>
  #known: ReadonlySet<string> = new Set()

  constructor(admin: Pick<KernelAdmin, 'report'> | undefined, log: Pick<Logger, 'warn'>) {
    this.#admin = admin
    this.#log = log
  }

  update(broken: readonly BrokenEntry[]): void {
    const findings = broken.map(findingOf)
    this.#admin?.report(this.#reporter, findings)
    for (const { plugin, message } of findings)
      if (!this.#known.has(message)) this.#log.warn(message, { code: CODE, contributor: plugin })
    this.#known = new Set(findings.map(({ message }) => message))
  }

  close(): void {
    this.#admin?.report(this.#reporter, [])
  }
}

const CODE = 'DSH_ENTRY_BROKEN'

function findingOf({ plugin, point, entry, reason }: BrokenEntry): Finding {
  return {
    plugin,
    severity: 'warning',
    code: CODE,
    message: `the console leaves out ${point} ${JSON.stringify(entry)} of ${plugin}: ${reason}`,
    hint: null,
    key: null,
    location: null
  }
}
