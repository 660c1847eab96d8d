import { type WebProject, webProject } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import web from '#plugin'

async function projectWith(settings: object): Promise<boolean | undefined> {
  let found: WebProject | undefined
  const asks = definePlugin({
    name: 'asks',
    requires: { project: webProject },
    activate(_ctx, { project }) {
      found = project
    }
  })
  const kernel = await testKernel([web, asks], { settings: { web: settings } })
  const answer = found?.tanstackStart()
  await kernel.close()
  return answer
}

t.test('without the setting, the choice is left to other plugins', async t => {
  t.equal(await projectWith({}), undefined)
})

t.test('a project may enable or disable server-rendered pages', async t => {
  t.equal(await projectWith({ tanstack_start: true }), true)
  t.equal(await projectWith({ tanstack_start: false }), false)
})
