import { REACT_VIEWS } from '../../react/views.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { functionsText } from '../../typescript/functions.ts'
import { header } from '../../typescript/header.ts'
import type { Build } from '../../typescript/module.ts'

/**
 * Generates `vox-functions.tsx` with the functions and constants that components use, and their dependencies. null if
 * there are none.
 */
export function functionsFile(build: Build, source: string): EmittedFile | null {
  const text = functionsText(build, REACT_VIEWS)
  return text === null ? null : { path: 'vox-functions.tsx', text: `${header(source)}\n${text}` }
}
