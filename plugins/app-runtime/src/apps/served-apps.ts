import type { DatabaseStore, Program } from '@svc/contracts'
import { appErrors } from '../errors.ts'
import type { Endpoint } from '../serving/endpoints.ts'
import type { ActivityLog } from './activity.ts'
import type { CallLog } from './call-log.ts'

/** Topic that is announced when another version of a program is served. */
export const APPS_TOPIC = 'app-runtime.apps'

/** A program that is served by this process. */
export interface ServedApp {
  readonly name: string
  /** Path of its source, relative to the project, with slashes. */
  readonly file: string
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  /** null if it has no tables, workflows, actors or agents. */
  readonly store: DatabaseStore | null
  /** Unix milliseconds at which this version was loaded. */
  readonly since: number
  /** Number of its threads. */
  threads(): number
  /** True if the newest source has errors, so that an older version is served. */
  isStale(): boolean
  /** Looks for changes of its tables, after a write. */
  nudge(): void
}

/** A configured program: served, or one that could not be started. */
export interface AppEntry {
  readonly name: string
  readonly file: string
  readonly served: ServedApp | null
}

/** The programs of this process, by name. */
export class ServedApps {
  readonly calls: CallLog
  readonly activity: ActivityLog
  readonly #entries = new Map<string, AppEntry>()

  constructor(calls: CallLog, activity: ActivityLog) {
    this.calls = calls
    this.activity = activity
  }

  /** Adds a program that is not served yet. */
  expect(name: string, file: string): void {
    this.#entries.set(name, { name, file, served: null })
  }

  serve(app: ServedApp): void {
    this.#entries.set(app.name, { name: app.name, file: app.file, served: app })
  }

  list(): readonly AppEntry[] {
    return [...this.#entries.values()]
  }

  /** Returns a served program. Throws `APP_UNKNOWN` and `APP_NOT_SERVED`. */
  get(name: string): ServedApp {
    const entry = this.#entries.get(name)
    if (entry === undefined) {
      const names = [...this.#entries.keys()].join(', ')
      throw appErrors.create('APP_UNKNOWN', `this process serves no program ${JSON.stringify(name)}`, {
        hint:
          names === ''
            ? 'serve one with svc dev FILE, or with the setting plugins.app-runtime.program'
            : `it serves ${names}`
      })
    }
    if (entry.served !== null) return entry.served
    throw appErrors.create('APP_NOT_SERVED', `${entry.file} is not served: it could not be started`, {
      hint: `svc check ${entry.file} shows its errors`
    })
  }
}

/** Returns the name of a program: its file name without the extension. */
export function appName(file: string): string {
  const base = file.slice(file.lastIndexOf('/') + 1)
  const dot = base.lastIndexOf('.')
  return dot > 0 ? base.slice(0, dot) : base
}

const MAX_RESULTS = 20

/** Returns the programs, routes and tables whose names contain a text, with their pages in the console. */
export function appNames(
  entries: readonly AppEntry[],
  text: string
): { readonly title: string; readonly kind: string; readonly link: string }[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  const all = entries.flatMap(({ name, file, served }) => {
    const page = `/ui/p/app-runtime/apps/${encodeURIComponent(name)}`
    return [
      { title: `${name} (${file})`, kind: 'app', link: page },
      ...(served?.program.module.tables ?? []).map(table => ({
        title: `${name}: ${table.name}`,
        kind: 'table',
        link: `${page}/tables/${encodeURIComponent(table.name)}`
      })),
      ...(served?.endpoints ?? []).flatMap(({ route }) => {
        if (route === null) return []
        const query = new URLSearchParams({ method: route.method, path: route.path })
        return [{ title: `${name}: ${route.method} ${route.path}`, kind: 'route', link: `${page}/request?${query}` }]
      })
    ]
  })
  return all.filter(({ title }) => title.toLowerCase().includes(wanted)).slice(0, MAX_RESULTS)
}
