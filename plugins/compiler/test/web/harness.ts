import { settings } from '#root'

interface Declared {
  readonly 'x-env'?: string
  readonly default?: unknown
}

const declared = (settings as unknown as { readonly properties: Readonly<Record<string, Declared>> }).properties

/** Returns the environment variable of a setting; empty if it is not set. */
function given(setting: string): string {
  const variable = declared[setting]?.['x-env']
  if (variable === undefined) throw new Error(`${setting} has no variable`)
  return (process.env[variable] ?? '').trim()
}

function flag(setting: string): boolean {
  const text = given(setting).toLowerCase()
  if (['1', 'true', 'yes', 'y', 'on'].includes(text)) return true
  if (['0', 'false', 'no', 'n', 'off'].includes(text)) return false
  return declared[setting]?.default === true
}

/** Settings of the test run. */
export const HARNESS = {
  opensPages: flag('gui_playwright'),
  buildsExamples: flag('web_vite_smoke'),
  /** Folders; empty if not set. */
  application: given('playwright_app_dir'),
  pictures: given('playwright_out_dir')
}
