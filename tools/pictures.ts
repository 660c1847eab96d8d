// Writes the pictures of the documents, docs/pictures/*.svg:
//
//   node --import tsx tools/pictures.ts
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { svg } from './pictures/drawing.ts'
import { overviewPicture } from './pictures/overview.ts'
import { reloadPicture } from './pictures/reload.ts'
import { requestPicture } from './pictures/request.ts'
import { taskPicture } from './pictures/task.ts'

const ROOT = join(import.meta.dirname, '..')

/** Returns the pictures as SVG, by path relative to the root. */
export function pictures(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/pictures/overview.svg', svg(overviewPicture())],
    ['docs/pictures/request.svg', svg(requestPicture())],
    ['docs/pictures/task.svg', svg(taskPicture())],
    ['docs/pictures/reload.svg', svg(reloadPicture())]
  ])
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  mkdirSync(join(ROOT, 'docs/pictures'), { recursive: true })
  for (const [path, text] of pictures()) writeFileSync(join(ROOT, path), text)
}
