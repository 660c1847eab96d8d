import type { PageBundle } from '@svc/contracts'
import { devScript, escapeHtml, htmlDocument } from './html.ts'

export interface ShellOptions {
  readonly title: string
  /** null if the pages could not be bundled. */
  readonly bundle: PageBundle | null
  /** Version of the program for the development script; null outside development. */
  readonly devBuild: string | null
}

/** Returns the document of all pages of a program. Its script shows the page of the current path. */
export function pageShell({ title, bundle, devBuild }: ShellOptions): string {
  const dev = devBuild === null ? [] : [devScript(devBuild)]
  if (bundle === null) {
    const body = `    <p>The pages of ${escapeHtml(title)} could not be built. The output of the server shows the reason.</p>`
    return htmlDocument(title, dev, body)
  }
  const { script, styles } = bundle
  const head = [
    ...(styles === null ? [] : [`<link rel="stylesheet" href="${styles}">`]),
    ...dev,
    `<script type="module" src="${script}"></script>`
  ]
  return htmlDocument(
    title,
    head,
    `    <div id="root"></div>
    <noscript>${escapeHtml(title)} needs JavaScript.</noscript>`
  )
}
