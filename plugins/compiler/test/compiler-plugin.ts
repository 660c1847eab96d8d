import { webProject } from '@svc/contracts'
import { fake, type TestKernel, testPlugin } from '@svc/plugin-sdk/testing'
import compiler from '../src/plugin.ts'

/** The plugin in a project whose table `[web]` says nothing. */
export function compilerPlugin(settings: object = {}): Promise<TestKernel> {
  return testPlugin(compiler, { settings, services: [fake(webProject, { tanstackStart: () => undefined })] })
}
