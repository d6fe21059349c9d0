/* SPDX-License-Identifier: MIT */
/*
 * mlflow.h - writes a sweep into the file store of MLflow: results --mlflow
 *
 * DIR is what `mlflow ui --backend-store-uri` takes.  A sweep becomes an experiment, DIR/7/, and
 * each job a run in it, with the files meta.yaml, metrics/NAME, params/NAME and tags/NAME.
 */
#ifndef LUDWIG_CLIENT_EXPORT_MLFLOW_H
#define LUDWIG_CLIENT_EXPORT_MLFLOW_H

#include "client/results/gather.h"

int mlflow_write(struct gathered *g, const char *dir, struct err *e);

#endif
