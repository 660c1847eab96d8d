import { service } from '@svc/plugin-sdk'
import type { PageSource } from '../web/page-bundler.ts'
import type { Program } from './compiler.ts'

/** Generator of a program's browser pages, as `svc build` writes them. */
export const programPages = service<ProgramPages>('language.pages@1')

export interface ProgramPages {
  /**
   * Generates the sources of all pages. `folder`: absolute path of the build folder, in which the user may have changed
   * the starter files and added modules. Nothing is written.
   */
  generate(program: Program, folder: string): Promise<GeneratedPages>
}

export type GeneratedPages =
  | {
      readonly ok: true
      /** Title of the application. */
      readonly title: string
      /** False if the program has neither routes nor a component that can be shown without properties. */
      readonly hasPages: boolean
      readonly files: readonly PageSource[]
      readonly starters: readonly PageSource[]
      /** Path of the first module, one of the starters. */
      readonly entry: string
      /** State of the build folder: without a build, with the output of this program, or of another version of it. */
      readonly built: 'absent' | 'current' | 'stale'
      /** Absolute path of a file that changes with the output of each build. */
      readonly buildFile: string
      /** Human-readable warnings; empty if there are none. */
      readonly warnings: string
    }
  | {
      readonly ok: false
      /** Human-readable: each finding with an excerpt of the source. */
      readonly report: string
      /** Machine-readable, as in `svc check --format json`. */
      readonly diagnostics: readonly object[]
    }
