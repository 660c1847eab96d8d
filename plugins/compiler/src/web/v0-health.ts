import { resolve } from 'node:path'
import type { Health } from '@svc/plugin-sdk'
import type { SourceFile } from '../source-file.ts'
import { parse } from '../syntax/parse.ts'
import { v0Problems } from './v0.ts'

/**
 * Checks that each `@v0` component of a project has a module that exports its name. `folder` is relative to the
 * project. Programs that cannot be parsed are ignored.
 */
export async function v0Health(
  projectRoot: string,
  folder: string,
  read: (paths: readonly string[]) => Promise<readonly SourceFile[]>
): Promise<Health> {
  const sources = (await read([projectRoot])).filter(({ text }) => text.includes('@v0'))
  const problems: string[] = []
  for (const { text } of sources) {
    const { module } = parse(text, { script: true, allowComponentFunctions: true })
    const found = await v0Problems(module, resolve(projectRoot, folder))
    problems.push(...found.map(({ message }) => message))
  }
  if (problems.length === 0) return { status: 'ok', detail: `all @v0 components are in ${folder}` }
  const [first = ''] = problems
  const more = problems.length === 1 ? '' : `, and ${problems.length - 1} more`
  return { status: 'degraded', detail: `${first}${more}; svc build writes such modules` }
}
