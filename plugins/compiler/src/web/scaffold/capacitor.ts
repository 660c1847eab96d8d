import type { EmittedFile } from '../emitted-file.ts'
import { literal, packageName } from '../typescript-names.ts'

/** `capacitor.config.ts`: the app around the pages. `webDir` is the folder that Vite builds into. */
export function capacitorConfig(name: string, webDir: string): EmittedFile {
  const words = packageName(name).replace(/[^a-z0-9]+/g, '_')
  // Each part of it must be a Java name.
  const id = `com.example.${/^[a-z]/.test(words) ? words : `app_${words}`}`
  const text = `import type { CapacitorConfig } from '@capacitor/cli'

// The id is the name of the app in the stores, and cannot be changed there later.
const config: CapacitorConfig = {
  appId: ${literal(id)},
  appName: ${literal(name.replaceAll('_', ' '))},
  webDir: ${literal(webDir)}
}

export default config
`
  return { path: 'capacitor.config.ts', text }
}
