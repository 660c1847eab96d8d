import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { browserErrors } from '@svc/contracts'

/** Names of browsers on common systems, free software first. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome', 'microsoft-edge']

/** Application paths on macOS, which are not on the PATH. */
const APPLICATIONS = ['Chromium', 'Google Chrome', 'Microsoft Edge'].map(
  name => `/Applications/${name}.app/Contents/MacOS/${name}`
)

/** Returns the path of the configured browser, else of the first installed one. Throws `BRW_NOT_INSTALLED`. */
export async function findExecutable(configured: string | undefined, projectRoot: string): Promise<string> {
  const { default: which } = await import('which')
  if (configured !== undefined) {
    const isPath = /[\\/]/.test(configured)
    const found = isPath ? resolve(projectRoot, configured) : await which(configured, { nothrow: true })
    if (found !== null && existsSync(found)) return found
    throw browserErrors.create('BRW_NOT_INSTALLED', `the browser ${found ?? configured} does not exist`, {
      hint: 'correct the setting plugins.browser.executable, or remove it to search the PATH'
    })
  }
  for (const name of NAMES) {
    const found = await which(name, { nothrow: true })
    if (found !== null) return found
  }
  const application = APPLICATIONS.find(path => existsSync(path))
  if (application !== undefined) return application
  throw browserErrors.create('BRW_NOT_INSTALLED', `none of ${NAMES.join(', ')} is on the PATH`, {
    hint: 'install one, for example with "apt install chromium" or "brew install --cask chromium", or set plugins.browser.executable to its path'
  })
}
