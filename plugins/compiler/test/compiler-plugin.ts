import { webProject } from '@svc/contracts'
import { fake, type TestKernel, testPlugin } from '@svc/plugin-sdk/testing'
import compiler from '#plugin'

/** Starts the plugin in a project with an empty `[web]` table. */
export function compilerPlugin(settings: object = {}): Promise<TestKernel> {
  return testPlugin(compiler, { settings, services: [fake(webProject, { tanstackStart: () => undefined })] })
}
