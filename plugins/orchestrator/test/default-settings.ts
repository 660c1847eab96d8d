import { type Settings, settings } from '#root'

interface Declared {
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Declared>>
}

/** Returns the default settings with overrides. */
export function defaultSettings(overrides: Partial<Settings> = {}): Settings {
  return { ...(defaultsOf(settings as Declared) as Settings), ...overrides }
}

function defaultsOf({ properties = {} }: Declared): object {
  const values: Record<string, unknown> = {}
  for (const [key, declared] of Object.entries(properties)) {
    if ('default' in declared) values[key] = declared.default
    else if (declared.properties !== undefined && key !== 'default_agent_capabilities')
      values[key] = defaultsOf(declared)
  }
  return values
}
