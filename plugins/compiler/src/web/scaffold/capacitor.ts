import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { literal, packageName } from '../../typescript/names.ts'

/** Generates `capacitor.config.ts` for the app around the pages. `webDir` is the folder into which Vite builds. */
export function capacitorConfig(name: string, webDir: string): EmittedFile {
  const words = packageName(name).replace(/[^a-z0-9]+/g, '_')
  // Each part of the id must be a Java identifier.
  const id = `com.example.${/^[a-z]/.test(words) ? words : `app_${words}`}`
  const text = `import type { CapacitorConfig } from '@capacitor/cli'

// The id identifies the app in the stores. It cannot be changed after the first release.
const config: CapacitorConfig = {
  appId: ${literal(id)},
  appName: ${literal(name.replaceAll('_', ' '))},
  webDir: ${literal(webDir)}
}

export default config
`
  return { path: 'capacitor.config.ts', text }
}
