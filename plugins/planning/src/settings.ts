import { type Infer, t } from '@svc/plugin-sdk'

/** Settings of drafting; when goals are planned is set in the section `[orchestrator]`. */
export const settings = t.object({
  stub_body: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_MCP_TEST_INFER_STUB_BODY',
      description:
        'For tests: text that replaces every reply of the model, which is then not called. Requires stub_ack.'
    })
  ),
  stub_ack: t.boolean({
    default: false,
    'x-env': 'SVC_MCP_INFER_STUB_ACK',
    'x-env-type': 'truthy',
    description: 'Acknowledges that stub_body replaces the model. Never in production.'
  })
})

export type Settings = Infer<typeof settings>
