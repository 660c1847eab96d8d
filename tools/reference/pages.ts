import type { PluginManifest } from '@svc/plugin-sdk'
import { renderCommandsPage } from './commands-page.ts'
import { renderContractsPage } from './contracts-page.ts'
import { errorRows, renderErrorData } from './error-entries.ts'
import { renderErrorsPage } from './errors-page.ts'
import { renderOperationsPage } from './operations-page.ts'
import { renderRoutesPage } from './routes-page.ts'
import { renderToolsPage } from './tools-page.ts'
import { renderTopicsPage } from './topics-page.ts'

/** Returns the pages of docs/reference/ and the error codes for `svc errors explain`, by path relative to the root. */
export function referencePages(manifests: readonly PluginManifest[], root: string): ReadonlyMap<string, string> {
  const errors = errorRows(root)
  return new Map([
    ['docs/reference/commands.md', renderCommandsPage(manifests)],
    ['docs/reference/contracts.md', renderContractsPage(manifests, root)],
    ['docs/reference/errors.md', renderErrorsPage(errors, manifests)],
    ['docs/reference/operations.md', renderOperationsPage(manifests)],
    ['docs/reference/routes.md', renderRoutesPage(manifests, root)],
    ['docs/reference/tools.md', renderToolsPage(manifests)],
    ['docs/reference/topics.md', renderTopicsPage(manifests)],
    ['plugins/cli/errors.json', renderErrorData(errors)]
  ])
}
