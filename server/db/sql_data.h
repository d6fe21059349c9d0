/* SPDX-License-Identifier: MIT */
/*
 * sql_data.h - statements about datasets: the trees that sweeps name
 */
#ifndef LUDWIG_SERVER_DB_SQL_DATA_H
#define LUDWIG_SERVER_DB_SQL_DATA_H

#define SQL_DATA(X)                                                                                                                         \
    X(SQL_DATASET_TAKE,                                                                                                                     \
      "INSERT INTO dataset(project, tree, manifest, name, files, bytes, added_at, used_at)"                                                 \
      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT(project, tree, manifest) DO UPDATE SET"                                          \
      " name = excluded.name, used_at = excluded.used_at RETURNING id")                                                                     \
    X(SQL_SWEEP_DATASET_ADD, "INSERT OR IGNORE INTO sweep_dataset(sweep, dataset) VALUES(?, ?)")                                            \
    X(SQL_CLEAR_DATASETS, "DELETE FROM sweep_dataset WHERE (sweep, dataset) IN"                                                             \
                          " (SELECT sweep, dataset FROM sweep_dataset WHERE sweep = ? LIMIT ?)")                                            \
    X(SQL_DATASET_PAGE,                                                                                                                     \
      "SELECT d.id, p.name, p.user, d.name, d.tree, d.manifest, d.files, d.bytes, d.added_at,"                                              \
      " d.used_at, coalesce((SELECT max(sweep) FROM sweep_dataset WHERE dataset = d.id), 0),"                                               \
      " (SELECT count(*) FROM sweep_dataset x JOIN sweep s ON s.id = x.sweep"                                                               \
      " WHERE x.dataset = d.id AND s.state IN (SWEEP_OPEN, SWEEP_RUNNING, SWEEP_PAUSED)) FROM dataset d JOIN project p ON p.id = d.project" \
      " WHERE d.id > ?1 AND (?2 IS NULL OR p.name = ?2) AND (?3 IS NULL OR p.uid = ?3)"                                                     \
      " ORDER BY d.id LIMIT ?4")                                                                                                            \
    X(SQL_SWEEP_DATASETS, "SELECT d.tree, d.files, d.bytes FROM sweep_dataset x JOIN dataset d"                                             \
                          " ON d.id = x.dataset WHERE x.sweep = ?1 AND (d.files >= ?2"                                                      \
                          " OR d.bytes >= ?3)")

#endif
