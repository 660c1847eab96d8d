import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'questioning',
  summary: 'Questions to people, asked where they are worth their price',
  activate() {}
})
