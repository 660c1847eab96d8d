export { newsErrors } from './errors.ts'
export {
  NEWS_TOPIC,
  newsPreview,
  newsPublish,
  newsResolve,
  newsScan,
  newsStatus
} from './operations/operations.ts'
